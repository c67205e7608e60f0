-- let go of the attached file: attached again, it is read from its beginning
DETACH trace

-- where the sources of a store were, as pseudonyms
SELECT path_key FROM sources

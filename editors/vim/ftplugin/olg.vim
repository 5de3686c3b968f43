setlocal commentstring=//\ %s comments=s1:/*,mb:*,ex:*/,://
setlocal suffixesadd=.olg include=^\\s*#\\s*include define=^\\s*#\\s*define

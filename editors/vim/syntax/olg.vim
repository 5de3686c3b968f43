" Rules of Tidemill.
if exists("b:current_syntax")
  finish
endif

syn keyword olgStatement materialize index watch watchmod trace traceTable export stage sink namespace Query keys
syn keyword olgOperator  delete notin in
syn keyword olgConstant  null true false infinity
syn keyword olgParameter NODE NODE_ID NODE_INDEX NODE_COUNT LANDMARK

syn match  olgVariable   "\<[A-Z][A-Za-z0-9_]*\>"
syn match  olgAnonymous  "\<_\>"
syn match  olgFunction   "\<f_[A-Za-z0-9_]\+\>"
syn match  olgAggregate  "\<a_[A-Za-z0-9_]\+\>"
syn match  olgAggregate  "\<\c\(min\|max\|count\|sum\|avg\)\ze\s*<\s*[@A-Z*]"
syn match  olgSystem     "\<\(sys\|sim\)::[A-Za-z0-9_]\+\>"
syn match  olgPeriodic   "\<periodic\>"
syn match  olgLocation   "@"
syn match  olgArrow      ":-\|:="
syn match  olgNumber     "\<\d\+\(\.\d\+\)\?\([eE][-+]\?\d\+\)\?U\?\>"
syn match  olgNumber     "\<0x\x\+I\?\>"
syn match  olgEscape     "\\[nrtf\"\\]\|\\x\x\x" contained
syn region olgString     start=+"+ skip=+\\.+ end=+"\|$+ contains=olgEscape
syn match  olgComment    "\(//\|%%\|#!\).*$"
syn region olgComment    start="/\*" end="\*/" contains=olgComment
syn match  olgPreproc    "^\s*#\s*\(define\|undef\|include\|ifdef\|ifndef\|else\|endif\)\>"

hi def link olgStatement Statement
hi def link olgOperator  Keyword
hi def link olgConstant  Constant
hi def link olgParameter Special
hi def link olgVariable  Identifier
hi def link olgAnonymous Comment
hi def link olgFunction  Function
hi def link olgAggregate Function
hi def link olgSystem    Type
hi def link olgPeriodic  Type
hi def link olgLocation  Special
hi def link olgArrow     Operator
hi def link olgNumber    Number
hi def link olgEscape    SpecialChar
hi def link olgString    String
hi def link olgComment   Comment
hi def link olgPreproc   PreProc

let b:current_syntax = "olg"

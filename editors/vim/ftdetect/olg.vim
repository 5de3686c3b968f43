autocmd BufRead,BufNewFile *.olg setfiletype olg

(* Comments (* nest (* deeply *) *) and may hold "quotes and END; *)
COMPONENT Main;
  BEGIN (* before *) WRITE("a(* no comment *)b"); (**) WRITELINE (* after *)
END Main;

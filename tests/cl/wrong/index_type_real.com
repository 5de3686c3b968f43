(* error[type] in line 3: a key is an INTEGER, TEXT, BOOLEAN or CHARACTER *)
COMPONENT Main;
  VARIABLE c[k: REAL]: INTEGER;
END Main;

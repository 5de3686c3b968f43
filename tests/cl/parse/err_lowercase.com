component A;
  variable x: INTEGER;
  procedure P; begin x := 1 end P;
  Constant y = 1;
  implementation I; begin ?M end I;
  begin
    if x then y end; if (x > 1) then y elsif z then a else b end;
    while x do y end; while (x) do y end; for i := 1 to 2 by 3 do x end; foreach k of c do x end;
    repeat x until y; begin x end; return x; return
  activity
    x;
  finally
    y
end A;
interface I; in A out B end I;

COMPONENT A;
  BEGIN (* (* inner *)
END A;

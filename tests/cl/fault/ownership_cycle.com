INTERFACE Keep; IN Take(x: ANY) OUT Taken END Keep;
INTERFACE Pass; IN On(x: ANY) OUT Done END Pass;
COMPONENT Box OFFERS Keep;
  VARIABLE inner: ANY;
  IMPLEMENTATION Keep;
    BEGIN {EXCLUSIVE} ?Take(inner); !Taken
  END Keep;
END Box;
COMPONENT Relay OFFERS Pass REQUIRES Keep;
  IMPLEMENTATION Pass;
    VARIABLE x: ANY;
    BEGIN {EXCLUSIVE} ?On(x); Keep!Take(x); Keep?Taken; !Done
  END Pass;
END Relay;
COMPONENT Main;
  VARIABLE box: Box; relay: Relay;
  BEGIN
    NEW(box); NEW(relay);
    CONNECT(Keep(relay), Keep(box));
    relay!On(box); relay?Done
END Main;

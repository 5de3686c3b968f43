(* Everything that can be asked of a store, by one client, through either driver. *)
COMPONENT Watcher OFFERS Watching REQUIRES Xenstore;
  PROCEDURE Joined(first, second: TEXT): TEXT;
    VARIABLE
      both: TEXT;
      i: INTEGER;
  BEGIN
    NEW(both, LENGTH(first) + LENGTH(second));
    FOR i := 0 TO LENGTH(first) - 1 DO
      both[i] := first[i]
    END;
    FOR i := 0 TO LENGTH(second) - 1 DO
      both[LENGTH(first) + i] := second[i]
    END;
    RETURN both
  END Joined;

  IMPLEMENTATION Watching;
    VARIABLE
      kind, address, path, token, text: TEXT;
      i, count: INTEGER;
  BEGIN {EXCLUSIVE}
    ?Await(kind, address, count);
    Xenstore!Connect(kind, address);
    Xenstore?Connected;
    Xenstore!Watch("/w", "tok");
    Xenstore?Done(text);
    !Watches;
    text := "";
    FOR i := 1 TO count DO
      Xenstore!Next;
      Xenstore?Fired(path, token);
      text := Joined(Joined(text, path), Joined(Joined(" ", token), ";"))
    END;
    Xenstore!Unwatch("/w", "tok");
    Xenstore?Done(path);
    Xenstore!Close;
    !Fired(text)
  END Watching;
END Watcher;

INTERFACE Watching;
  IN Await(kind, address: TEXT; count: INTEGER) OUT Watches OUT Fired(text: TEXT)
END Watching;

INTERFACE Asking;
  IN Ask(kind, address: TEXT) OUT Asked
END Asking;

COMPONENT Client OFFERS Asking REQUIRES Xenstore;
  PROCEDURE Show(what: TEXT);
    VARIABLE text: TEXT;
  BEGIN
    WRITE(what);
    WRITE(": ");
    IF Xenstore?Done THEN
      Xenstore?Done(text)
    ELSE
      Xenstore?Failed(text)
    END;
    WRITE(text);
    WRITELINE
  END Show;

  PROCEDURE Number(): INTEGER;
    VARIABLE text: TEXT;
  BEGIN
    Xenstore!Start;
    Xenstore?Done(text);
    RETURN INTEGER(text)
  END Number;

  IMPLEMENTATION Asking;
    VARIABLE
      kind, address, long: TEXT;
      one, two: INTEGER;
  BEGIN {EXCLUSIVE}
    ?Ask(kind, address);
    Xenstore!Connect(kind, address);
    Xenstore?Connected;
    Xenstore!Write("/a/b", "value", 0);
    Show("write");
    Xenstore!Read("/a/b", 0);
    Show("read");
    Xenstore!Read("/a/x", 0);
    Show("read nothing");
    Xenstore!MakeDirectory("/a/c", 0);
    Show("mkdir");
    Xenstore!Directory("/a", 0);
    Show("directory");
    Xenstore!SetPermissions("/a/c", "n0 r3", 0);
    Show("set permissions");
    Xenstore!GetPermissions("/a/c", 0);
    Show("get permissions");
    Xenstore!SetPermissions("/a/c", "x", 0);
    Show("wrong permissions");
    one := Number();
    two := Number();
    Xenstore!Write("/a/b", "one", one);
    Show("write in one");
    Xenstore!Write("/a/b", "two", two);
    Show("write in two");
    Xenstore!Read("/a/b", 0);
    Show("read outside");
    Xenstore!Commit(one);
    Show("commit one");
    Xenstore!Commit(two);
    Show("commit two");
    Xenstore!Read("/a/b", 0);
    Show("read");
    one := Number();
    Xenstore!Remove("/a/b", one);
    Show("remove inside");
    Xenstore!Abort(one);
    Show("abort");
    Xenstore!Read("/a/b", 77);
    Show("no transaction");
    NEW(long, 3000);
    Xenstore!Write("/a/long", long, 0);
    Show("write 3000 bytes");
    Xenstore!Read("/a/long", 0);
    Xenstore?Done(long);
    WRITE("read: ");
    WRITE(LENGTH(long));
    WRITE(" bytes");
    WRITELINE;
    NEW(long, 5000);
    Xenstore!Write("/a/long", long, 0);
    Show("write 5000 bytes");
    Xenstore!Remove("/a", 0);
    Show("remove");
    Xenstore!Directory("/a", 0);
    Show("directory");
    Xenstore!Write("/w/x", "", 0);
    Show("watched");
    Xenstore!Write("/v", "", 0);
    Show("not watched");
    Xenstore!Close;
    !Asked
  END Asking;
END Client;

COMPONENT Main REQUIRES Xenstore, Pore, Arguments;
  VARIABLE
    driver: XenstoreDriver;
    client: Client;
    watcher: Watcher;
    kind, address, text: TEXT;
    isPore: BOOLEAN;

  PROCEDURE Argument(i: INTEGER): TEXT;
    VARIABLE text: TEXT;
  BEGIN
    Arguments!Get(i);
    Arguments?Argument(text);
    RETURN text
  END Argument;
BEGIN
  isPore := Argument(1) = "pore";
  kind := Argument(2);
  address := Argument(3);
  NEW(client);
  NEW(watcher);
  IF isPore THEN
    NEW(driver);
    CONNECT(Pore(driver), Pore);
    CONNECT(Xenstore(client), Xenstore(driver));
    CONNECT(Xenstore(watcher), Xenstore(driver))
  ELSE
    CONNECT(Xenstore(client), Xenstore);
    CONNECT(Xenstore(watcher), Xenstore)
  END;
  watcher!Await(kind, address, 2);
  watcher?Watches;
  client!Ask(kind, address);
  client?Asked;
  watcher?Fired(text);
  WRITE(text);
  WRITELINE
END Main;

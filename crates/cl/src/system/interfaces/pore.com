INTERFACE Pore;
  ( IN Open(kind, argument: TEXT) | IN Take(id: INTEGER) )
  ( OUT Failed(reason: TEXT)
  | OUT Opened(size: INTEGER)
    { IN Avail OUT Available(readable, writable: INTEGER)
    | ( IN Read(n: INTEGER) | IN Peek(n: INTEGER) | IN Get(offset, length: INTEGER) )
      OUT Data(data: TEXT)
    | IN Write(data: TEXT) OUT Accepted(n: INTEGER)
    | IN Send(first, second, third, fourth: TEXT)
    | IN Put(offset: INTEGER; data: TEXT)
    | IN Load(offset, width: INTEGER) OUT Loaded(value: INTEGER)
    | IN Store(offset, width, value: INTEGER)
    | IN Ring
    | IN Arm(readable, writable: INTEGER)
    | IN Next(n, writable: INTEGER)
    | IN Ask(n: INTEGER; first, second, third, fourth: TEXT)
    | OUT Event(readable, writable: INTEGER)
    | OUT Came(data: TEXT; until: INTEGER)
    | OUT Trouble(reason: TEXT) }
    ( IN Close | IN HandOver OUT Handed(id: INTEGER) ) )
END Pore;

INTERFACE Network;
  ( IN Listen(address: TEXT) | IN Connect(address: TEXT) | IN Take(id: INTEGER)
  | IN Bind(address: TEXT) )
  ( OUT Failed(reason: TEXT)
  | OUT Opened(address: TEXT)
    { IN Accept OUT Accepted(id: INTEGER)
    | IN Send(data: TEXT)
    | IN Receive ( OUT Data(data: TEXT) | OUT End )
    | IN SendTo(address, data: TEXT)
    | IN ReceiveFrom OUT Datagram(address, data: TEXT) }
    IN Close )
END Network;

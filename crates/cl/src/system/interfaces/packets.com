INTERFACE Packets;
  IN Open(app: TEXT)
  ( OUT Failed(reason: TEXT)
  | OUT Opened
    { IN Send(packet: TEXT) OUT Sent(isSent: BOOLEAN)
    | IN Receive OUT Packet(packet: TEXT)
    | IN GetTime OUT Time(time: INTEGER) }
    IN Close )
END Packets;

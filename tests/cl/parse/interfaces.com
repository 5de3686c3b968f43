INTERFACE Empty; END Empty;
INTERFACE SystemTime; IN GetSystemTime OUT SystemTime(ticks: INTEGER) | IN Wait(ms: INTEGER) OUT Passed END SystemTime;
INTERFACE FileSystem;
( IN New(name: TEXT) | IN Open(name: TEXT) ) ( OUT Done { IN SetPosition(position: INTEGER) | IN GetPosition OUT Position(pos: INTEGER) | IN GetLength OUT Length(len: INTEGER) | ( IN ReadByte | IN ReadLine ) ( OUT Byte(x: CHARACTER) | OUT Line(x: TEXT) | OUT EOF ) | IN Write(x: CHARACTER) | IN WriteText(x: TEXT) | IN Update } IN Close | OUT Failed )
END FileSystem;
INTERFACE GraphicView;
  { IN Clear | IN GetSize OUT Size(width, height, bgColor: INTEGER) | IN Pixel(x, y, color: INTEGER) | IN Font(x, y: INTEGER; char: CHARACTER; color: INTEGER) | IN Fill(x, y, w, h, color: INTEGER) | IN SetLayer(level: INTEGER) | IN DrawLayers }
END GraphicView;
INTERFACE Odd; [ IN A [ OUT B() ] ] IN C ( OUT D | { IN E } ) { { IN F } | [ OUT G(x: ANY(Odd | Empty)) ] } END Odd;
INTERFACE Network;
  ( IN Listen(address: TEXT) | IN Connect(address: TEXT) | IN Take(id: INTEGER) | IN Bind(address: TEXT) )
  ( OUT Failed(reason: TEXT)
  | OUT Opened(address: TEXT)
    { IN Accept OUT Accepted(id: INTEGER) | IN Send(data: TEXT) | IN Receive ( OUT Data(data: TEXT) | OUT End )
    | IN SendTo(address, data: TEXT) | IN ReceiveFrom OUT Datagram(address, data: TEXT) }
    IN Close )
END Network;

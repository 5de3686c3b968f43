(* Interfaces of the system: known without declaration, declared again the same or not. *)
INTERFACE SystemTime; IN GetSystemTime OUT SystemTime(t: INTEGER) | IN Wait(ms: INTEGER) OUT Passed END SystemTime;
INTERFACE Input; { IN ReadByte OUT Byte(x: CHARACTER) } END Input;
INTERFACE Arguments; IN GetCount OUT Count(n: REAL) | IN Get(i: INTEGER) OUT Argument(x: TEXT) END Arguments;
COMPONENT Main REQUIRES SystemTime, Input, Arguments, FileSystem, GraphicView, Network, Nothing;
  VARIABLE i: INTEGER; t: TEXT; c: CHARACTER;
  BEGIN
    SystemTime!GetSystemTime; SystemTime?SystemTime(i); Input!ReadLine; IF Input?Line THEN Input?Line(t) ELSIF Input?EOF THEN Input?EOF END;
    Arguments!Get(1); Arguments?Argument(t); FileSystem!New(t); FileSystem?Done; FileSystem!Write(c); FileSystem!GetPosition; FileSystem?Position(i); FileSystem!Close;
    GraphicView!Clear; GraphicView!Font(1, 2, "c", 3); GraphicView!DrawLayers; Network!Listen(t); Network?Opened(t); Network!Accept; Network?Accepted(i); Network!Close;
    FileSystem!Write(c); GraphicView!Size(1, 2, 3); Network?Data(t); SystemTime!Wait(t)
END Main;

INTERFACE Input;
  { ( IN ReadByte | IN ReadLine ) ( OUT Byte(x: CHARACTER) | OUT Line(x: TEXT) | OUT EOF ) }
END Input;

INTERFACE Messages;
  { ( IN New(type: TEXT)
    | IN Decode(type, data: TEXT)
    | IN Encode
    | IN Index(place: INTEGER)
    | IN Has(path: TEXT)
    | IN Count(path: TEXT)
    | IN GetInteger(path: TEXT)
    | IN GetReal(path: TEXT)
    | IN GetBoolean(path: TEXT)
    | IN GetText(path: TEXT)
    | IN SetInteger(path: TEXT; value: INTEGER)
    | IN SetReal(path: TEXT; value: REAL)
    | IN SetBoolean(path: TEXT; value: BOOLEAN)
    | IN SetText(path, value: TEXT)
    | IN Clear(path: TEXT) )
    ( OUT Done
    | OUT Integer(value: INTEGER)
    | OUT Real(value: REAL)
    | OUT Boolean(value: BOOLEAN)
    | OUT Text(value: TEXT)
    | OUT Failed(reason: TEXT) ) }
END Messages;

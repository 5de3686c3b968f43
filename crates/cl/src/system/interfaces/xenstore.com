INTERFACE Xenstore;
  IN Connect(kind, address: TEXT)
  ( OUT Refused(reason: TEXT)
  | OUT Connected
    { ( IN Write(path, value: TEXT; transaction: INTEGER)
      | IN Read(path: TEXT; transaction: INTEGER)
      | IN MakeDirectory(path: TEXT; transaction: INTEGER)
      | IN Remove(path: TEXT; transaction: INTEGER)
      | IN Directory(path: TEXT; transaction: INTEGER)
      | IN GetPermissions(path: TEXT; transaction: INTEGER)
      | IN SetPermissions(path, permissions: TEXT; transaction: INTEGER)
      | IN Watch(path, token: TEXT)
      | IN Unwatch(path, token: TEXT)
      | IN Start
      | IN Commit(transaction: INTEGER)
      | IN Abort(transaction: INTEGER) )
      ( OUT Done(result: TEXT) | OUT Failed(error: TEXT) )
    | IN Next OUT Fired(path, token: TEXT) }
    IN Close )
END Xenstore;

(* Directions, parameters, parties, interfaces named and implied. *)
INTERFACE Talk; IN Say(t: TEXT; n: REAL) OUT Hear(t: TEXT; n: REAL) | IN Give(p: Part) OUT Take(p: ANY(Talk)) END Talk;
INTERFACE Other; IN Go OUT Gone END Other;
COMPONENT Part OFFERS Talk;
  VARIABLE kept: ANY(Talk); other: ANY;
  IMPLEMENTATION Talk;
    VARIABLE t: TEXT; n: REAL; p: Part;
    PROCEDURE Answer;
      BEGIN !Hear(t, 1)
    END Answer;
    BEGIN
      IF ?Say THEN ?Say(t, n); Answer
      ELSE ?Give(p); BEGIN {EXCLUSIVE} MOVE(p, kept); !Take(kept); IF INPUT(ANY) OR ?FINISH OR INPUT(FINISH) THEN END END
      END
  END Talk;
  BEGIN NEW(kept, Part)
END Part;
COMPONENT Both OFFERS Talk, Other;
  IMPLEMENTATION Talk;
    VARIABLE t: TEXT; i: INTEGER; n: REAL; x: ANY;
    BEGIN
      ?Say(t, i); ?Say(t); ?Say(t, n, n); ?Hear(t, n); !Say(t, n); !Hear(t, t); !Hear(t); !Hear("c", 1); ?Nothing; !Go; ?Go;
      !Take(x); ?Give(t); ?Give(x); IF ?Hear OR ?Gone OR INPUT(Hear) THEN END; !Hear(x, n)
  END Talk;
  IMPLEMENTATION Other; BEGIN ?Go; !Gone END Other;
END Both;
COMPONENT Main REQUIRES Other;
  VARIABLE p: Part; b: Both; a[k: INTEGER]: Part; x: ANY; y: ANY(Other); t: TEXT; n: REAL; z: ANY(Talk); i: INTEGER;
  PROCEDURE Right;
    BEGIN
      p!Say("x", 1); p?Hear(t, n); Talk(p)!Say(t, n); IF Talk(p)?Hear THEN Talk(p)?Hear(t, n) END; a[1]!Say(t, n); IF a[1]?ANY THEN a[1]?Hear(t, n) END;
      Talk(a[2])!Give(p); Talk(a[2])?Take(z); Talk(b)!Give(a[3]); Talk(b)?Take(x); Other!Go; Other?Gone; y!Go; y?Gone; x(Part)!Say(t, 2);
      IF (x OFFERS Talk) AND Talk(x)?Hear THEN END
  END Right;
  BEGIN
    Right; b!Go; Other(p)!Go; x!Say(t, n); Talk(x)!Say(t, n); Talk!Say(t, n); Talk(t)!Say(t, n); t!Say(t, n); q!Go; Nothing!Go; Nothing(p)!Go; a!Say(t, n); Talk(a)!Say(t, n);
    !Go; ?Gone; IF ?ANY THEN END; p!Hear(t, n); p?Say(t, n); p!Nothing; p?Hear; p!Give(1); p!Give(x); p!Give(a[1]); p?Take(p); p?Take(y); p?Take(x); Main!Go; p(Both)!Go;
    i(Part)!Say(t, n); Other[1]!Go; Other(y)!Go; Other(y)?Gone; IF INPUT(p, Say) OR INPUT(p, Nowhere) OR INPUT(t, ANY) THEN END
END Main;

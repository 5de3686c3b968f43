(*
  The Mandelbrot set: a component per band of rows computes an array of iteration counts, all bands
  at the same time; the picture goes to the graphic view. With `--png FILE` it becomes a picture.
*)
INTERFACE Band;
  IN Compute(from, to, width, height: INTEGER) { OUT Count(x, y, n: INTEGER) } OUT Done
END Band;

COMPONENT Worker OFFERS Band;
  CONSTANT Limit = 200;

  PROCEDURE Iterations(re, im: REAL): INTEGER;
    VARIABLE x, y, h: REAL; n: INTEGER;
    BEGIN
      x := 0; y := 0; n := 0;
      WHILE (n < Limit) AND (x * x + y * y <= 4) DO
        h := x * x - y * y + re; y := 2 * x * y + im; x := h; INC(n)
      END;
      RETURN n
  END Iterations;

  IMPLEMENTATION Band;
    VARIABLE count[x, y: INTEGER]: INTEGER {ARRAY}; from, to, width, height, x, y: INTEGER;
    BEGIN
      ?Compute(from, to, width, height);
      NEW(count, width, to - from);
      FOR y := from TO to - 1 DO
        FOR x := 0 TO width - 1 DO
          count[x, y - from] := Iterations(3 * x / width - 2.25, 2.25 * y / height - 1.125)
        END
      END;
      FOR y := from TO to - 1 DO
        FOR x := 0 TO width - 1 DO !Count(x, y, count[x, y - from]) END
      END;
      !Done
  END Band;
END Worker;

COMPONENT Mandelbrot REQUIRES GraphicView, Arguments;
  CONSTANT Bands = 4; Limit = 200; Black = 0; Blue = 000040H; Step = 030201H;
  VARIABLE
    worker[number: INTEGER]: Worker; width, height, i, x, y, n, sum, inside: INTEGER; text: TEXT;
  BEGIN
    Arguments!Get(1); Arguments?Argument(text);
    IF text = "" THEN width := 64 ELSE width := INTEGER(text) END;
    height := width * 3 DIV 4; sum := 0; inside := 0;
    FOR i := 0 TO Bands - 1 DO
      NEW(worker[i]);
      worker[i]!Compute(height * i DIV Bands, height * (i + 1) DIV Bands, width, height)
    END;
    FOR i := 0 TO Bands - 1 DO
      WHILE worker[i]?Count DO
        worker[i]?Count(x, y, n);
        sum := (sum * 31 + n) MOD 1000000007;
        IF n = Limit THEN INC(inside); GraphicView!Pixel(x, y, Black)
        ELSE GraphicView!Pixel(x, y, Blue + n * Step MOD 0C0C0C0H)
        END
      END;
      worker[i]?Done
    END;
    GraphicView!DrawLayers;
    WRITE(inside); WRITE(" of "); WRITE(width * height); WRITE(" points inside, checksum ");
    WRITE(sum); WRITELINE
END Mandelbrot;

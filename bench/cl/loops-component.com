(* The loops of loops.com over variables of the component, as programs of this language mostly have
   them. Arguments: CASE SIZE ROUNDS, with the cases 11 to 13 for 1 to 3 there. *)
COMPONENT {ENTRYPOINT} Loops REQUIRES Arguments;
  VARIABLE
    case, size, rounds: INTEGER;
    p[i: INTEGER], q[i: INTEGER], s[i: INTEGER]: INTEGER {ARRAY};
    sign, most, total, flips, first, next, i, j, t: INTEGER;
    again: BOOLEAN;
    x[i: INTEGER], y[i: INTEGER], z[i: INTEGER], mass[i: INTEGER]: REAL {ARRAY};
    vx[i: INTEGER], vy[i: INTEGER], vz[i: INTEGER]: REAL {ARRAY};
    step: INTEGER;
    dx, dy, dz, square, distance, force, px, py, pz, energy: REAL;
    a[i, j: INTEGER], b[i, j: INTEGER], c[i, j: INTEGER]: REAL {ARRAY};
    k, round: INTEGER; sum: REAL;

  PROCEDURE Parameter(number: INTEGER): INTEGER;
    VARIABLE text: TEXT;
  BEGIN
    Arguments!Get(number); Arguments?Argument(text);
    RETURN INTEGER(text)
  END Parameter;

  PROCEDURE Fannkuch(n: INTEGER): INTEGER;
  BEGIN
    NEW(p, n); NEW(q, n); NEW(s, n);
    FOR i := 0 TO n - 1 DO p[i] := i; s[i] := i END;
    sign := 1; most := 0; total := 0;
    WHILE TRUE DO
      first := p[0];
      IF first # 0 THEN
        FOR i := 1 TO n - 1 DO q[i] := p[i] END;
        flips := 1; next := q[first];
        WHILE next # 0 DO
          q[first] := first;
          i := 1; j := first - 1;
          WHILE i < j DO
            t := q[i]; q[i] := q[j]; q[j] := t;
            INC(i); DEC(j)
          END;
          first := next; next := q[first]; INC(flips)
        END;
        total := total + sign * flips;
        IF flips > most THEN most := flips END
      END;
      IF sign = 1 THEN
        t := p[0]; p[0] := p[1]; p[1] := t; sign := -1
      ELSE
        t := p[1]; p[1] := p[2]; p[2] := t; sign := 1;
        i := 2; again := TRUE;
        WHILE again DO
          IF s[i] # 0 THEN
            s[i] := s[i] - 1; again := FALSE
          ELSE
            IF i = n - 1 THEN RETURN total * 100 + most END;
            s[i] := i;
            t := p[0];
            FOR j := 0 TO i DO p[j] := p[j + 1] END;
            INC(i); p[i] := t
          END
        END
      END
    END
  END Fannkuch;

  PROCEDURE Bodies(steps: INTEGER): INTEGER;
    CONSTANT Sun = 39.47841760435743; Year = 365.24; Count = 5;
    PROCEDURE Body(i: INTEGER; px, py, pz, ux, uy, uz, m: REAL);
    BEGIN
      x[i] := px; y[i] := py; z[i] := pz;
      vx[i] := ux * Year; vy[i] := uy * Year; vz[i] := uz * Year; mass[i] := m * Sun
    END Body;

  BEGIN
    NEW(x, Count); NEW(y, Count); NEW(z, Count); NEW(mass, Count);
    NEW(vx, Count); NEW(vy, Count); NEW(vz, Count);
    Body(0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0);
    Body(1, 4.84143144246472090, -1.16032004402742839, -0.103622044471123109,
      0.00166007664274403694, 0.00769901118419740425, -0.0000690460016972063023,
      0.000954791938424326609);
    Body(2, 8.34336671824457987, 4.12479856412430479, -0.403523417114321381,
      -0.00276742510726411899, 0.00499852801234917238, 0.0000230417297573763929,
      0.000285885980666130812);
    Body(3, 12.8943695621391310, -15.1111514016986312, -0.223307578892655734,
      0.00296460137564761618, 0.00237847173959480950, -0.0000296589568540237556,
      0.0000436624404335156298);
    Body(4, 15.3796971148509165, -25.9193146099879641, 0.179258772950371181,
      0.00268067772490389322, 0.00162824170038242295, -0.0000951592254519715870,
      0.0000515138902046611451);
    px := 0.0; py := 0.0; pz := 0.0;
    FOR i := 0 TO Count - 1 DO
      px := px + vx[i] * mass[i]; py := py + vy[i] * mass[i]; pz := pz + vz[i] * mass[i]
    END;
    vx[0] := -px / Sun; vy[0] := -py / Sun; vz[0] := -pz / Sun;
    FOR step := 1 TO steps DO
      FOR i := 0 TO Count - 1 DO
        FOR j := i + 1 TO Count - 1 DO
          dx := x[i] - x[j]; dy := y[i] - y[j]; dz := z[i] - z[j];
          square := dx * dx + dy * dy + dz * dz;
          force := 0.01 / (square * SQRT(square));
          vx[i] := vx[i] - dx * mass[j] * force;
          vy[i] := vy[i] - dy * mass[j] * force;
          vz[i] := vz[i] - dz * mass[j] * force;
          vx[j] := vx[j] + dx * mass[i] * force;
          vy[j] := vy[j] + dy * mass[i] * force;
          vz[j] := vz[j] + dz * mass[i] * force
        END
      END;
      FOR i := 0 TO Count - 1 DO
        x[i] := x[i] + 0.01 * vx[i]; y[i] := y[i] + 0.01 * vy[i]; z[i] := z[i] + 0.01 * vz[i]
      END
    END;
    energy := 0.0;
    FOR i := 0 TO Count - 1 DO
      energy := energy + 0.5 * mass[i] * (vx[i] * vx[i] + vy[i] * vy[i] + vz[i] * vz[i]);
      FOR j := i + 1 TO Count - 1 DO
        dx := x[i] - x[j]; dy := y[i] - y[j]; dz := z[i] - z[j];
        distance := SQRT(dx * dx + dy * dy + dz * dz);
        energy := energy - mass[i] * mass[j] / distance
      END
    END;
    RETURN INTEGER(-energy * 1000000000.0)
  END Bodies;

  PROCEDURE Product(n, rounds: INTEGER): INTEGER;
  BEGIN
    NEW(a, n, n); NEW(b, n, n); NEW(c, n, n);
    FOR i := 0 TO n - 1 DO
      FOR j := 0 TO n - 1 DO a[i, j] := REAL(i + 2 * j); b[i, j] := REAL(i - j) END
    END;
    FOR round := 1 TO rounds DO
      FOR i := 0 TO n - 1 DO
        FOR j := 0 TO n - 1 DO
          sum := 0.0;
          FOR k := 0 TO n - 1 DO sum := sum + a[i, k] * b[k, j] END;
          c[i, j] := sum
        END
      END;
      a[0, 0] := a[0, 0] + 1.0
    END;
    sum := 0.0;
    FOR i := 0 TO n - 1 DO FOR j := 0 TO n - 1 DO sum := sum + c[i, j] * c[i, j] END END;
    RETURN INTEGER(SQRT(sum))
  END Product;

BEGIN
  case := Parameter(1); size := Parameter(2); rounds := Parameter(3);
  IF case = 11 THEN WRITE(Fannkuch(size))
  ELSIF case = 12 THEN WRITE(Bodies(rounds))
  ELSE WRITE(Product(size, rounds))
  END;
  WRITELINE
END Loops;

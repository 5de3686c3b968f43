COMPONENT Communication;
  IMPLEMENTATION Service;
  BEGIN
    !Hello; !Hello(); !Hello(1, x + 1); ?Bye; ?Bye(); ?Bye(a, b[i], c(House));
    x!M; x!M(y?N); x[i]!M(1); Service(x)!M; Service[k](x[i])!M(2); Service(x)(House)!M;
    x?M; x?M(a); x[i]?M(a); Service(x)?M; Service[k](x[i])?M(b);
    IF ?M THEN a ELSIF ?ANY THEN b ELSIF ?FINISH OR x?FINISH THEN c END;
    IF x?M AND Service(x)?ANY OR Service[1](x[2])?M THEN d END;
    IF INPUT(M) OR INPUT(ANY) OR INPUT(FINISH) OR INPUT(x, M) OR INPUT(x[i], ANY) THEN e END;
    IF INPUT(Service(x), FINISH) OR ~INPUT(Service[k](x), M) THEN f END;
    WHILE ~ ?M DO AWAIT(?M OR INPUT(ANY)) END
  END Service;
END Communication;

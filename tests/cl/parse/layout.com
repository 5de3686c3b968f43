COMPONENT A OFFERS AVeryLongInterfaceName, AnotherVeryLongInterfaceName[1..*], YetAnotherInterfaceName REQUIRES Something, SomethingElse;
PROCEDURE Long(first, second, third, fourth, fifth: INTEGER; VARIABLE sixth, seventh, eighth, ninth: REAL; tenth: TEXT): BOOLEAN;
BEGIN RETURN (first > second) AND (second > third) AND (third > fourth) AND (fourth > fifth) OR (sixth > seventh) OR (eighth > ninth)
END Long;
BEGIN Call("a text that is long enough to matter", "another text that is long enough to matter", "and a third of that kind"); x := first + second + third + fourth + fifth + sixth + seventh + eighth + ninth + tenth + eleventh;
IF Long(1, 2, 3, 4, 5, a, b, c, d, "tenth") AND (aVariableWithAName[anIndex, anotherIndex] = anotherVariable) THEN a END
END A;

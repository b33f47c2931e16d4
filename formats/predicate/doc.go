// Package predicate says which items of an array a comparison is true of, such as
//
//	v > 3
//	-2.5 <= temp < 5 and not quality == 0
//	t >= '2025-03-01T00:00' and (site.id == 7 or site.open == true)
//
// [Parse] reads the text, [Expr.Bind] checks it against the type of the items.
// [Predicate.Match] says of a run of items by its statistics alone whether none, some
// or all of them match, and [Predicate.Mask] looks at the items.
//
// # Text
//
// An array of plain items has one name, v. Structured items have the names of their
// members (or titles), with a dot between levels. A dot may stand before a name; it must
// if the name is one of the words of the language (and, or, not, true, false, nan, inf).
// A name of other characters than letters, digits and underscores stands in double
// quotes, as a Go string.
//
// A comparison has a name on one side of < <= > >= == != and a literal on the other.
// Several may follow each other: 3 < v <= 5 is 3 < v and v <= 5. not is taken before and,
// and before or; parentheses change that.
//
// Literals are whole numbers from -2^63 to 2^64-1; numbers with a point or an exponent,
// which are float64; nan, inf, -inf; true and false; and times in single quotes, in
// ISO 8601 from the year to attoseconds, in UTC: '2025', '2025-03-01 12:00', 'NaT'.
//
// # What is equal
//
// Whole numbers are compared exactly with integers and floats of any size: 2^53+1 is more
// than the float 2^53. NumPy would round it first. A number with a point is compared
// exactly with integers too, so v < 3.5 is v <= 3. Before it is compared with floats it is
// rounded to their type, as NumPy does, so v == 0.1 finds the float32 that is nearest to
// 0.1; but a number beyond the greatest float of the type does not become infinity.
//
// NaN is not equal to anything, itself included, and neither less nor greater: only != is
// true of it, and what not makes of the others. NaT is like NaN. Minus zero is zero. A bool
// is 0 or 1 (true, whatever its byte is if it is not 0). A time is the first moment of its
// step: a date in days is compared with a time of day as its midnight. A duration is
// compared with a number of its steps.
//
// Text, raw bytes, complex numbers, long doubles, times without a unit, structures as a
// whole and members that are sub-arrays are not compared.
//
// # Errors
//
// Errors are of type [*Error], which says where in the text. They match [ErrSyntax] for
// text that is none, formats.ErrNoEntry for a name that the items do not have,
// formats.ErrUnsupported for types that are not compared, or not with such a literal, and
// formats.ErrTooLarge for text beyond a limit of this package.
package predicate

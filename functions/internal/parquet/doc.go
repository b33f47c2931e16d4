// Package parquet reads columns of Parquet files row by row, in memory that does not grow
// with their length: of each column that is wanted a page, and what is read ahead.
//
// Structures of the footer and of page headers are those of parquet-go; a walk over their
// bytes checks lengths and counts first. Pages are decoded here, since the decoders of
// that library take memory for as many values as a run claims.
package parquet

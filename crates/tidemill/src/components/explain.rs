//! A program drawn, and its machine code listed.

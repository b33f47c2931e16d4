package bloscpack

// RaceEnabled tells the tests outside the package that they run slowly.
const RaceEnabled = raceEnabled

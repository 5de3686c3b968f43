module tidemill/bench/peers/go

go 1.21

(* error[no-entry] in line 4: two components are marked ENTRYPOINT *)
COMPONENT {ENTRYPOINT} One;
END One;
COMPONENT {ENTRYPOINT} Two;
END Two;

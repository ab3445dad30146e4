-- Postgres lets everyone execute a new function. Here only the roles that a migration names may: every later migration that
-- creates a function ends with this statement (test/db/function-grants.test.ts fails without it).
revoke execute on all functions in schema keyframe, keyframe_worker, keyframe_private from public;

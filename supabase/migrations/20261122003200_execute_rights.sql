-- Postgres lets everyone execute a new function. Here only the roles that a migration grants it to: every later migration that
-- creates a function must end with this statement (test/db/function-grants.test.ts checks it).
revoke execute on all functions in schema keyframe, keyframe_worker, keyframe_private from public;

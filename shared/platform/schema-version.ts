// Made by `npm run schema`.
/** The version of the migrations that the functions need, as in keyframe_private.installation. */
export const SCHEMA_VERSION = "0.1.0";

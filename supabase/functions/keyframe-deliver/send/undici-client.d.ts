/** The module of undici that is read, which has no types beside it: they are those of the whole package. */
declare module "undici/lib/dispatcher/client.js" {
  export { Client as default } from "undici";
}

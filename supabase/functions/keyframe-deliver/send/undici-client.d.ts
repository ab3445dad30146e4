/** This module of undici has no types of its own. The package undici has them. */
declare module "undici/lib/dispatcher/client.js" {
  export { Client as default } from "undici";
}

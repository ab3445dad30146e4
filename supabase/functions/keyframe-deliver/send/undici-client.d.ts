/** This module of undici has no types of its own; they are in the package. */
declare module "undici/lib/dispatcher/client.js" {
  export { Client as default } from "undici";
}

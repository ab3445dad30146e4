/**
 * Makes Deno.serve listen on the port of the first argument. To be imported before a function: the hosted platform's Deno is
 * older than DENO_SERVE_ADDRESS, by which the local stack says the same.
 */
const serve = Deno.serve;
Deno.serve = ((handler: Deno.ServeHandler<Deno.NetAddr>) =>
  // The one of its forms that the functions use.
  serve({ hostname: "127.0.0.1", port: Number(Deno.args[0]) }, handler)) as typeof Deno.serve;

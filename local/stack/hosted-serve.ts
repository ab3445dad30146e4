/**
 * Makes Deno.serve listen on the port of the first argument. Import it before a function: the hosted platform's Deno does not
 * know DENO_SERVE_ADDRESS, which the local stack uses.
 */
const serve = Deno.serve;
Deno.serve = ((handler: Deno.ServeHandler<Deno.NetAddr>) =>
  // The only overload that the functions use.
  serve(
    { hostname: "127.0.0.1", port: Number(Deno.args[0]), onListen: () => undefined },
    handler,
  )) as typeof Deno.serve;

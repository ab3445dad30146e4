/** A function of nothing: what is left is the runtime's own start. */
Deno.serve(() => new Response(null, { status: 401 }));

export {};

/** An empty function: what it takes is the runtime's own start. */
Deno.serve(() => new Response(null, { status: 401 }));

export {};

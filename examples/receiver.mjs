import { createServer } from "node:http";
import { Webhook } from "standardwebhooks";

const webhook = new Webhook(process.env.WEBHOOK_SECRET);

async function readBody(request) {
  const chunks = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > 65_536) throw new Error("too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks); // raw: not parsed and serialized again
}

async function receive(request) {
  let event;
  try {
    event = webhook.verify(await readBody(request), request.headers);
  } catch {
    return 401;
  }
  console.log("received", request.headers["webhook-id"], event?.type); // store it here, work later
  return 204;
}

const server = createServer(async (request, response) => {
  const status = await receive(request).catch(() => 500); // an error that nobody catches would end the process
  response.writeHead(status).end();
});

server.listen(Number(process.env.PORT ?? 8787), () => console.log("port", server.address().port));

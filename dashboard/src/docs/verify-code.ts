/** What a receiver in JavaScript does before anything else, by the library of Standard Webhooks. */
export const VERIFY_CODE = `import { Webhook } from "standardwebhooks"; // npm install standardwebhooks
const webhook = new Webhook(process.env.WEBHOOK_SECRET); // whsec_…
const event = webhook.verify(rawBody, request.headers); // throws: answer 401`;

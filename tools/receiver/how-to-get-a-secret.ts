/** What to do when the receiver was started without a secret: register its address, then start it with the answer's secret. */
export function howToGetASecret(port: number): string {
  return `The receiver needs the secret that signs its events, and it has none. Register its address: the answer carries the secret.

  API=http://127.0.0.1:54321/functions/v1/api        # where npm start serves
  TOKEN=…                                            # a session token: npm start prints the command that gets one
  export WEBHOOK_SECRET=$(curl -s $API/webhooks -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
    -d '{"url":"http://127.0.0.1:${port}/"}' | sed 's/.*"secret":"\\([^"]*\\)".*/\\1/')
  npm run receiver${port === 54390 ? "" : ` -- --port ${port}`}

Registered already? GET $API/webhooks lists your endpoints, GET $API/webhooks/<id>/secret tells the secret again.
More: docs/receive-webhooks.md`;
}

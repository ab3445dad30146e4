export type Caller = { url: string; apikey: string; token: string };

/** ms per request of creating a project through the API and by the same insert sent straight to REST, in turn. */
export async function measureCreate(caller: Caller, times: number): Promise<{ api: number[]; rest: number[] }> {
  const headers = {
    authorization: `Bearer ${caller.token}`,
    apikey: caller.apikey,
    "content-type": "application/json",
  };
  const post = async (address: string, body: unknown, extra: Record<string, string> = {}) => {
    const start = performance.now();
    const response = await fetch(address, {
      method: "POST",
      headers: { ...headers, ...extra },
      body: JSON.stringify(body),
    });
    await response.text();
    if (response.status !== 201) throw new Error(`${address} answered ${response.status}`);
    return performance.now() - start;
  };
  const toApi = () =>
    post(`${caller.url}/functions/v1/api/projects`, { title: "Bench", textPrompt: "A harbour", description: "" });
  const toRest = () =>
    post(
      `${caller.url}/rest/v1/projects?select=*`,
      { title: "Bench", text_prompt: "A harbour", description: "" },
      { prefer: "return=representation" },
    );
  for (let warmUp = 0; warmUp < 30; warmUp++) await Promise.all([toApi(), toRest()]);
  const api: number[] = [];
  const rest: number[] = [];
  for (let turn = 0; turn < times; turn++) {
    api.push(await toApi());
    rest.push(await toRest());
  }
  return { api, rest };
}

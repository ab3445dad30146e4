import { Text, useComputedColorScheme, VisuallyHidden } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import SwaggerUI, { type SwaggerComponent } from "swagger-ui-dist/swagger-ui-es-bundle.js";
import "swagger-ui-dist/swagger-ui.css";
import { KeyframeError } from "../../../client/index.ts";
import { useServices } from "../services.ts";
import { useSession } from "../session/SessionProvider.tsx";
import { CopyButton } from "../ui/CopyButton.tsx";
import { ErrorNotice } from "../ui/messages.tsx";
import { PageHead } from "../ui/page-parts.tsx";
import "./docs.css";

const LIMIT_MS = 15_000;

type Example = { path?: Record<string, unknown>; query?: Record<string, unknown> };
type Operation = { parameters?: { name?: string }[]; "x-examples"?: Example[] };
type ApiDocument = { paths: Record<string, Record<string, Operation>> };

/** The API reference: Swagger UI over the service's own openapi.json, signed in as the person who reads it. */
export function Component() {
  const { supabaseUrl } = useServices().config;
  const address = `${supabaseUrl}/functions/v1/api/openapi.json`;
  const { data, error, refetch } = useQuery({
    queryKey: ["openapi", address],
    queryFn: async ({ signal }) => prepare(await read(address, signal), supabaseUrl),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  });
  return (
    <>
      <PageHead
        title="Docs"
        text="Try every operation of the API. Requests from this page use your session."
        actions={<CopyButton text={address} label="Copy URL of openapi.json" short="Copy URL" />}
      />
      <Text size="sm">
        Identifiers in the examples are samples: replace them with yours. The typed client is described in{" "}
        <code>client/README.md</code>, how to verify webhooks in <code>docs/receive-webhooks.md</code>.
      </Text>
      {error !== null && data === undefined && (
        <ErrorNotice title="Could not load the API reference" error={error} onRetry={() => void refetch()} />
      )}
      {data !== undefined && <Reference document={data} />}
    </>
  );
}

/** Swagger UI's own layout has a second main element, a title and a choice of servers. Made by its React, not ours. */
const PageLayout: SwaggerComponent = ({ getComponent, getSystem }) => {
  const { createElement } = getSystem().React;
  const parts = ["InfoContainer", "AuthorizeBtnContainer", "operations", "Webhooks"];
  return createElement(
    "div",
    { className: "swagger-ui" },
    ...parts.map((name) => createElement(getComponent(name, true))),
  );
};

function Reference({ document: spec }: { document: ApiDocument }) {
  const { session } = useSession();
  const scheme = useComputedColorScheme("light");
  const place = useRef<HTMLDivElement>(null);
  const [ui, setUi] = useState<ReturnType<typeof SwaggerUI> | null>(null);

  useEffect(() => {
    const domNode = document.createElement("div");
    place.current?.append(domNode);
    const made = SwaggerUI({
      domNode,
      spec,
      defaultModelsExpandDepth: -1,
      displayRequestDuration: true,
      tryItOutEnabled: true,
      validatorUrl: "none", // its default asks a server of Swagger's
      plugins: [() => ({ components: { PageLayout } })],
      layout: "PageLayout",
      onComplete: () => setUi(() => made),
    });
    return () => domNode.remove();
  }, [spec]);

  useEffect(() => {
    if (session !== null) ui?.preauthorizeApiKey("session", session.access_token);
  }, [ui, session]);

  useEffect(() => {
    const { classList } = document.documentElement;
    classList.toggle("dark-mode", scheme === "dark"); // Swagger UI's switch
    return () => classList.remove("dark-mode");
  }, [scheme]);

  return (
    <>
      <VisuallyHidden component="h2">Operations</VisuallyHidden>
      <div ref={place} />
    </>
  );
}

/** Fails as the client does when no answer comes, so that the query repeats and the page's banner shows. */
async function read(address: string, signal: AbortSignal): Promise<ApiDocument> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]);
  const response = await fetch(address, { signal: limit }).catch((cause: unknown) => {
    signal.throwIfAborted();
    throw new KeyframeError("network", "No answer came.", { cause: String(cause) });
  });
  const { ok, status } = response;
  if (status >= 500) throw new KeyframeError("unavailable", "The service is unavailable.", { status });
  const document: unknown = ok ? await response.json().catch(() => null) : null;
  if (typeof document !== "object" || document === null || !("paths" in document)) {
    throw new Error(`${address} is not an OpenAPI document (status ${status}). Check config.json.`);
  }
  return document as ApiDocument; // made of the same contract, and tested against the standard
}

/** Requests go to this dashboard's project, and the form fields hold the values of the first example. */
function prepare(document: ApiDocument, supabaseUrl: string) {
  for (const operation of Object.values(document.paths).flatMap((path) => Object.values(path))) {
    const [first] = operation["x-examples"] ?? [];
    const values = new Map(Object.entries({ ...first?.path, ...first?.query }));
    for (const parameter of operation.parameters ?? []) {
      if (values.has(parameter.name ?? "")) Object.assign(parameter, { example: values.get(parameter.name ?? "") });
    }
  }
  return { ...document, servers: [{ url: `${supabaseUrl}/functions/v1` }] };
}

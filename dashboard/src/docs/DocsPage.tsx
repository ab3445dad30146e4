import { Accordion, Anchor, Text, Title, Typography } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Fragment } from "react";
import { Link, useSearchParams } from "react-router";
import type { KeyframeClient, ListedProject, Step } from "../../../client/index.ts";
import { type CallPlatform, useServices } from "../services.ts";
import { useSession } from "../session/use-session.ts";
import { CopyButton } from "../ui/CopyButton.tsx";
import { PageHead, Unread } from "../ui/page-parts.tsx";
import { type ApiDocument, followReferences } from "./api-document.ts";
import classes from "./docs.module.css";
import { GUIDES } from "./guides.ts";
import { OperationPanel, Sentences } from "./OperationPanel.tsx";

/** The API reference, made of the service's own openapi.json. */
export function Component() {
  const { config, callPlatform } = useServices();
  const address = `${config.supabaseUrl}/functions/v1/api/openapi.json`;
  const read = useQuery({
    queryKey: ["openapi", address],
    queryFn: ({ signal }) => readDocument(callPlatform, signal),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  });
  return (
    <>
      <PageHead
        title="Docs"
        text="Every operation of the API. The commands run in a shell and have your identifiers."
        actions={<CopyButton text={address} label="Copy URL of openapi.json" />}
      />
      <Text size="sm" mb="sm">
        Guides:{" "}
        {Object.entries(GUIDES).map(([name, { title }], at) => (
          <Fragment key={name}>
            {at > 0 && " · "}
            <Anchor inherit underline="always" component={Link} to={`/docs/${name}`}>
              {title}
            </Anchor>
          </Fragment>
        ))}
      </Text>
      <Unread query={read} what="the API reference" heights={[]} />
      {read.data !== undefined && <Reference document={read.data} />}
    </>
  );
}

function Reference({ document }: { document: ApiDocument }) {
  const { config, keyframe } = useServices();
  const { session } = useSession();
  const [search, setSearch] = useSearchParams();
  const { data: own = {} } = useQuery({
    queryKey: ["own-identifiers"],
    queryFn: ({ signal }) => readOwn(keyframe, signal),
  });
  const places = Object.entries({ ...document.paths, ...document.webhooks }).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const opened = search.get("operation");
  const open = (operation: string | null) => setSearch(operation === null ? {} : { operation }, { replace: true });
  return (
    <>
      <Typography fz="sm">
        <Sentences text={document.info.description} />
        <p>
          The commands have the identifiers of your latest film, endpoint and delivery. A word in capitals, such as
          PROJECT_ID, stands for one that you do not have yet, or that you have to choose because it will be deleted.
        </p>
        <details>
          <summary>Credentials</summary>
          {Object.entries(document.components.securitySchemes).map(([name, { description }]) => (
            <Sentences key={name} text={`\`${name}\`: ${description}`} />
          ))}
        </details>
      </Typography>
      {document.tags.map(({ name, description }) => (
        <section key={name}>
          <Title order={2} size="h4" mt="lg">
            {name}
          </Title>
          <Typography fz="sm" c="dimmed">
            <Sentences text={description} />
          </Typography>
          <Accordion value={opened} onChange={open} order={3} transitionDuration={0}>
            {places
              .filter(({ operation }) => operation.tags.includes(name))
              .map(({ path, method, operation }) => (
                <Accordion.Item key={operation.operationId} value={operation.operationId}>
                  <Accordion.Control className={classes.label}>
                    <code>
                      {method.toUpperCase()} {path}
                    </code>{" "}
                    {operation.summary}
                  </Accordion.Control>
                  <Accordion.Panel>
                    {opened === operation.operationId && (
                      <OperationPanel
                        place={{ method, operation, address: `${config.supabaseUrl}/functions/v1${path}` }}
                        own={own}
                        token={session?.access_token ?? ""}
                      />
                    )}
                  </Accordion.Panel>
                </Accordion.Item>
              ))}
          </Accordion>
        </section>
      ))}
    </>
  );
}

async function readDocument(callPlatform: CallPlatform, signal: AbortSignal): Promise<ApiDocument> {
  const document = await callPlatform("/functions/v1/api/openapi.json", { signal });
  if (typeof document !== "object" || document === null || !("paths" in document))
    throw new Error("The service's openapi.json is not an OpenAPI document. Check config.json.");
  return followReferences(document, document) as ApiDocument; // made of the same contract, and tested against the standard
}

/** Of the project with the most takes among the latest, of the latest endpoint that is enabled, and of any that has a delivery. */
async function readOwn(keyframe: KeyframeClient, signal: AbortSignal) {
  const [{ projects }, { webhooks }, { films }] = await Promise.all([
    keyframe.listProjects({ include: "predictions" }, { signal }),
    keyframe.webhooks.list({ signal }),
    keyframe.films.list({ limit: 1 }, { signal }),
  ]);
  const takesOf = (project?: ListedProject) => Object.values(project?.takes ?? {}).filter((take) => take !== null);
  const [shot] = projects.toSorted((one, other) => takesOf(other).length - takesOf(one).length);
  const idOf = (step: Step) => shot?.takes?.[step]?.predictionId;
  const deliveries = await Promise.all(
    webhooks.map(({ webhookId }) => keyframe.webhooks.deliveries(webhookId, { limit: 1 }, { signal })),
  );
  return {
    projectId: shot?.projectId,
    filmId: films[0]?.filmId,
    firstFrameId: idOf("first-frame"),
    lastFrameId: idOf("last-frame"),
    videoId: idOf("video"),
    webhookId: webhooks.find(({ enabled }) => enabled)?.webhookId,
    deliveryId: deliveries.flatMap((page) => page.deliveries)[0]?.deliveryId,
    referenceImagePath: takesOf(shot).flatMap(({ input }) => input.referenceImagePath ?? [])[0],
  };
}

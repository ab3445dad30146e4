import { Accordion, Title, Typography } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useSearchParams } from "react-router";
import type { KeyframeClient, ListedProject, Step } from "../../../client/index.ts";
import { useServices } from "../services.ts";
import { useSession } from "../session/use-session.ts";
import { CopyButton } from "../ui/CopyButton.tsx";
import { PageHead, Unread } from "../ui/page-parts.tsx";
import { type ApiDocument, useApiDocument } from "./api-document.ts";
import { DocsNav, DocsPage } from "./DocsNav.tsx";
import classes from "./docs.module.css";
import { OperationPanel, Sentences } from "./OperationPanel.tsx";

/** The API reference, made from the service's own openapi.json. */
export function Component() {
  const { config } = useServices();
  const address = `${config.supabaseUrl}/functions/v1/api/openapi.json`;
  const read = useApiDocument(true);
  return (
    <DocsPage nav={<DocsNav />}>
      <PageHead
        title="Docs"
        text="Every operation of the API. The samples run as they are, with your ids."
        actions={<CopyButton text={address} label="Copy URL of openapi.json" />}
      />
      <Unread query={read} what="the API reference" heights={[]} />
      {read.data !== undefined && <Reference document={read.data} />}
    </DocsPage>
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
          The samples use the ids of your latest film, endpoint and delivery. A word in capitals, such as PROJECT_ID,
          stands for one that you do not have yet, or must choose yourself because it will be deleted.
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

/** Of the project with the most takes among the latest, of the latest endpoint that is enabled, and of any that has a delivery. */
async function readOwn(keyframe: KeyframeClient, signal: AbortSignal) {
  const [{ projects }, { webhooks }, { films }, { elements }] = await Promise.all([
    keyframe.listProjects({ include: "predictions" }, { signal }),
    keyframe.webhooks.list({ signal }),
    keyframe.films.list({ limit: 1 }, { signal }),
    keyframe.elements.list({ limit: 1 }, { signal }),
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
    elementId: elements[0]?.elementId,
    firstFrameId: idOf("first-frame"),
    lastFrameId: idOf("last-frame"),
    videoId: idOf("video"),
    webhookId: webhooks.find(({ enabled }) => enabled)?.webhookId,
    deliveryId: deliveries.flatMap((page) => page.deliveries)[0]?.deliveryId,
    referenceImagePath: takesOf(shot).flatMap(({ input }) => input.referenceImagePath ?? [])[0],
  };
}

import { Anchor, Button, Card, Group, Skeleton, Stack, Text, Title, VisuallyHidden } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import type { UseInfiniteQueryResult } from "@tanstack/react-query";
import { Fragment, type ReactNode, useId } from "react";
import { Link } from "react-router";
import { BusyButton } from "./Buttons.tsx";
import classes from "./facts.module.css";
import { type Icon, IconArrowLeft, IconMapSearch } from "./Icons.tsx";
import { ErrorNotice } from "./Notices.tsx";

type Props = { title: string; text?: string | undefined; actions?: ReactNode };

export function PageHead({ title, text, actions }: Props) {
  useDocumentTitle(`${title} · Keyframe`);
  return (
    <Group justify="space-between" align="flex-start" mb="lg">
      <Stack gap={4} miw={0} maw="calc(100% - 3rem)" style={{ overflowWrap: "anywhere" }}>
        <Title order={1} size="h2" lineClamp={2} title={title}>
          {title}
        </Title>
        {text !== undefined && <Text c="dimmed">{text}</Text>}
      </Stack>
      {actions}
    </Group>
  );
}

export const BackLink = ({ to, label }: { to: string; label: string }) => (
  <Anchor component={Link} to={to} size="sm" miw={0} style={{ display: "inline-flex", alignItems: "center", gap: 4 }}>
    <IconArrowLeft size={16} style={{ flex: "none" }} />
    <Text span inherit truncate>
      {label}
    </Text>
  </Anchor>
);

type UnreadProps = {
  query: { data: unknown; error: unknown; refetch: () => unknown; isFetchNextPageError?: boolean };
  /** What is read, such as “the film”. */
  what: string;
  /** The heights of the content that is loading, so that nothing jumps. */
  heights: number[];
  className?: string | undefined;
};

/** Says that a query is loading, or has failed. */
export function Unread({ query, what, heights, className }: UnreadProps) {
  const { data, error, refetch, isFetchNextPageError = false } = query;
  if (error !== null && !isFetchNextPageError)
    return <ErrorNotice title={`Could not load ${what}`} error={error} onRetry={() => void refetch()} />;
  if (data !== undefined) return null;
  return (
    <div className={className} style={className === undefined ? { display: "grid", gap: 16 } : undefined}>
      <VisuallyHidden role="status">Loading {what}</VisuallyHidden>
      {Object.entries(heights).map(([at, height]) => (
        <Skeleton key={at} h={height} />
      ))}
    </div>
  );
}

type ListPageProps = Props &
  Omit<UnreadProps, "className"> & {
    isEmpty: boolean;
    create: ReactNode;
    empty: Omit<EmptyStateProps, "action">;
    children: ReactNode;
  };

/** A page with a list. The button waits for the list: an empty list would move it from under a press. */
export const ListPage = ({ title, text, isEmpty, create, empty, children, ...read }: ListPageProps) => (
  <>
    <PageHead title={title} text={text} actions={isEmpty || read.query.data === undefined ? null : create} />
    <Stack gap="md">
      <Unread {...read} />
      {isEmpty && <EmptyState {...empty} action={create} />}
      {children}
    </Stack>
  </>
);

export function Panel({ title, actions, children }: { title: string; actions?: ReactNode; children: ReactNode }) {
  const id = useId();
  return (
    <Card component="section" withBorder padding="lg" aria-labelledby={id}>
      <Group justify="space-between" mb="md" mih={36}>
        <Title order={2} size="h4" id={id}>
          {title}
        </Title>
        {actions}
      </Group>
      {children}
    </Card>
  );
}

/** Names with their values, without those that are null. */
export const Facts = ({ facts }: { facts: Record<string, ReactNode> }) => (
  <dl className={classes.facts}>
    {Object.entries(facts).map(
      ([name, value]) =>
        value !== null && (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </Fragment>
        ),
    )}
  </dl>
);

type MissingProps = { title: string; text?: string; to: string; label: string };

/** The page for an address that leads to nothing. */
export function Missing({ title, text = "It was deleted or belongs to another account.", to, label }: MissingProps) {
  useDocumentTitle(`${title} · Keyframe`);
  const action = (
    <Button component={Link} to={to}>
      {label}
    </Button>
  );
  return <EmptyState order={1} Icon={IconMapSearch} title={title} text={text} action={action} />;
}

type EmptyStateProps = { Icon: Icon; title: string; text: string; action?: ReactNode; order?: 1 | 2 };

export const EmptyState = ({ Icon, title, text, action, order = 2 }: EmptyStateProps) => (
  <Stack align="center" py="xl" gap="sm">
    <Icon size={48} stroke={1.2} opacity={0.6} />
    <Title order={order} size="h4">
      {title}
    </Title>
    <Text c="dimmed" ta="center" maw={440}>
      {text}
    </Text>
    {action}
  </Stack>
);

/** The button at the end of a list. Renders nothing when the whole list is shown. */
export const LoadMore = ({ query, label = "Load more" }: { query: UseInfiniteQueryResult; label?: string }) => (
  <>
    {query.isFetchNextPageError && <ErrorNotice title="Could not load more" error={query.error} />}
    {query.hasNextPage && (
      <Group justify="center">
        <BusyButton variant="default" isBusy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
          {label}
        </BusyButton>
      </Group>
    )}
  </>
);

import { Anchor, Card, Stack, Text } from "@mantine/core";
import { Fragment } from "react";
import { Link } from "react-router";
import { useElements, useOwnCasts } from "../queries/element-queries.ts";
import { useFilmChoice } from "../queries/film-queries.ts";
import { NewButton } from "../ui/Buttons.tsx";
import { IconUsers } from "../ui/Icons.tsx";
import { ListPage } from "../ui/PageParts.tsx";
import { useDialog } from "../ui/Dialogs.tsx";
import { ElementRow } from "./ElementRow.tsx";
import { ElementDialog } from "./ElementDialog.tsx";

export default function ElementsPage() {
  const elements = useElements();
  const isAny = (elements.data?.length ?? 0) > 0;
  const { data: films } = useFilmChoice(isAny);
  const { data: shots } = useOwnCasts(isAny);
  const creating = useDialog();
  const usesOf = (id: string): Use[] => [
    ...(films ?? []).flatMap(({ filmId, title, elementIds }) =>
      elementIds.includes(id) ? { to: `/films/${filmId}`, title } : [],
    ),
    ...(shots ?? []).flatMap(({ projectId, title, elementIds }) =>
      elementIds.includes(id) ? { to: `/projects/${projectId}`, title } : [],
    ),
  ];
  return (
    <ListPage
      title="Elements"
      text="Characters, places, props and styles to use in several films and projects."
      query={elements}
      what="elements"
      heights={[64, 64, 64]}
      isEmpty={elements.data?.length === 0}
      create={<NewButton onClick={creating.open}>New element</NewButton>}
      empty={{
        Icon: IconUsers,
        title: "No elements yet",
        text: "Describe a character or a place once, with images. Put it into the cast of a film, or name it in a prompt, as in “@Anna on the pier”.",
      }}
    >
      <Stack component="ul" gap="xs" className="plain-list" aria-label="Elements">
        {elements.data?.map((element) => (
          <Card component="li" key={element.elementId} withBorder padding="sm" style={{ overflow: "visible" }}>
            <ElementRow element={element} beside={[]}>
              {films && shots && <Uses uses={usesOf(element.elementId)} />}
            </ElementRow>
          </Card>
        ))}
      </Stack>
      <ElementDialog element={null} beside={[]} {...creating.dialog} />
    </ListPage>
  );
}

type Use = { to: string; title: string };

const Uses = ({ uses }: { uses: Use[] }) => (
  <Text size="sm" c="dimmed" style={{ overflowWrap: "anywhere" }}>
    {uses.length === 0 ? "Not used yet" : "Used in "}
    {uses.map(({ to, title }, at) => (
      <Fragment key={to}>
        {at > 0 && ", "}
        <Anchor component={Link} to={to} inherit>
          {title}
        </Anchor>
      </Fragment>
    ))}
  </Text>
);

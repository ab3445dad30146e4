import { Button } from "@mantine/core";
import { IconMapSearch } from "@tabler/icons-react";
import { Link } from "react-router";
import { EmptyState } from "../ui/EmptyState.tsx";
import { PageHead } from "../ui/PageHead.tsx";

export function NotFound() {
  return (
    <>
      <PageHead title="Not found" />
      <EmptyState
        Icon={IconMapSearch}
        title="There is nothing here"
        text="The address is wrong, or what it led to has been deleted."
        action={
          <Button component={Link} to="/projects">
            To the projects
          </Button>
        }
      />
    </>
  );
}

"""Write docs/questions.md from the answered questions that the command line shows."""

from pathlib import Path

from poolsplit.topics import topics

TARGET = Path(__file__).resolve().parent.parent / "docs" / "questions.md"


def main() -> None:
    """Writes the page."""
    parts = ["# Questions about the two pools", "`poolsplit explain TOPIC` prints each of these."]
    for topic in topics():
        parts.append(f"## {topic.question}")
        parts.append(f"`poolsplit explain {topic.name}`")
        parts.append(topic.text)
    TARGET.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

# Documents of many small objects, written to text and read back.
import json

document = [{"id": i, "name": f"entry {i}", "tags": [f"tag{i % 7}", f"tag{i % 11}"],
             "position": {"x": i * 0.5, "y": -i, "inside": i % 3 == 0}} for i in range(25_000)]
for _ in range(12):
    text = json.dumps(document, indent=1)
    document = json.loads(text)
assert len(document) == 25_000 and document[24_999]["name"] == "entry 24999"
